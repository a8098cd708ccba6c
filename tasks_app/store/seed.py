"""Many realistic tasks in little time: they live their whole lives in the database, in bursts, on the fake clock.

They are written by temporary functions, so that nothing travels back and forth, and by plain statements over many rows,
so that every guard and every log of the tables does its work: what is loaded is as true as what happened. For tests and
benches only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks_app.conf import conf
from tasks_app.domain.identity import OwnerKind
from tasks_app.store.db import affected, atomic, row
from tasks_app.store.expiry import expire
from tasks_app.store.identity import find_or_make_owner
from tasks_app.store.tally import fold

BURST = 250
OWNER = "seed-{}"

_PLOT = """
CREATE TEMPORARY TABLE IF NOT EXISTS seed_plot
    (n int, id uuid, owner bigint, place int, born timestamptz, story text, pace int)
"""
# What becomes of each, by weight: most end well, some wait, few run. An owner whose places are taken has no more live ones,
# and only the newest run, however many there are: workers are few.
_CAST = """
CREATE OR REPLACE FUNCTION pg_temp.seed_cast(run text, first int, last int, owners bigint[], moment timestamptz, is_old boolean, calm int, quota int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seed_plot (n, id, owner, place, born, story, pace)
    WITH drawn AS MATERIALIZED (
        SELECT n, owners[1 + floor(random() * cardinality(owners))::int] AS owner, random() AS dice,
               moment - random() * interval '30 seconds' AS born FROM generate_series(first, last) n),
    placed AS (
        SELECT d.*, taken.places, row_number() OVER (PARTITION BY d.owner ORDER BY d.dice DESC) AS rank FROM drawn d
          JOIN LATERAL (SELECT coalesce(max(o.slot), 0) AS places FROM tasks_task o
                         WHERE o.owner_id = d.owner AND o.finished_at IS NULL) taken ON true)
    SELECT n, md5('taskdeck ' || run || ' ' || n)::uuid, owner, places + rank, born,
           CASE WHEN dice < 0.70 THEN 'result' WHEN dice < 0.76 THEN 'tool_error' WHEN dice < 0.81 THEN 'rpc_error'
                WHEN dice < 0.86 THEN 'cancelled' WHEN dice < 0.91 THEN 'answered'
                WHEN dice < 0.94 OR is_old OR places + rank > quota THEN 'retried' WHEN dice < 0.96 THEN 'due'
                WHEN dice < 0.965 THEN 'later' WHEN dice < 0.98 THEN CASE WHEN n > calm THEN 'running' ELSE 'result' END
                WHEN dice < 0.995 THEN 'waiting' ELSE 'approval' END,
           floor(random() * 4)::int
      FROM placed;
END $$
"""
_IDS = """
CREATE OR REPLACE FUNCTION pg_temp.seed_ids(VARIADIC stories text[]) RETURNS uuid[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(SELECT p.id FROM seed_plot p WHERE p.story = ANY(stories) ORDER BY p.n);
END $$
"""
# The clock and the actor for what follows, until the next call or the end of the transaction.
_AT = """
CREATE OR REPLACE FUNCTION pg_temp.seed_at(moment timestamptz, actor jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('tasks.fake_now', moment::text, true), set_config('tasks.actor', actor::text, true);
END $$
"""
_BORN = """
CREATE OR REPLACE FUNCTION pg_temp.seed_born() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tools text[] := '{resize_images,deploy_service,crawl_site,send_report,sync_crm,transcode_video,import_orders,refund_order,back_up}';
    regions text[] := '{eu-north,eu-west,us-east,us-west,asia-south}';
    clients text[] := '{claude-code/2.1,vscode/1.104,inspector/0.17,nightly/1.0}';
BEGIN
    INSERT INTO tasks_task (id, owner_id, slot, tool, arguments, labels, request_id, client, created_at, updated_at, status_at,
        expires_at, status, open_questions, wake_at)
    SELECT p.id, p.owner, p.place, tools[1 + floor(power(random(), 2) * 9)::int],
           (about || jsonb_build_object('items', (SELECT jsonb_agg(i * p.n) FROM generate_series(1, 1 + p.n % 20) i)))::text,
           about, 'seed-' || p.n, clients[1 + p.n % 4], p.born, p.born, p.born, p.born + interval '24 hours',
           CASE WHEN p.story = 'approval' THEN 'input_required' ELSE 'working' END,
           (p.story = 'approval')::int, CASE WHEN p.story <> 'approval' THEN p.born END
      FROM seed_plot p, LATERAL jsonb_build_object(
           'customer', 'c-' || p.n % 5000, 'region', regions[1 + p.n % 5], 'batch', p.n::text) AS about;
END $$
"""
_START = """
CREATE OR REPLACE FUNCTION pg_temp.seed_start(tasks uuid[], worker text, lease timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH t AS (UPDATE tasks_task SET attempt = attempt + 1, active_attempt = attempt + 1, wake_at = NULL WHERE id = ANY(tasks)
               RETURNING id, attempt)
    INSERT INTO tasks_attempt (task_id, number, worker, lease_until) SELECT t.id, t.attempt, seed_start.worker, lease FROM t;
END $$
"""
_END = """
CREATE OR REPLACE FUNCTION pg_temp.seed_end(tasks uuid[], how text, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tasks_attempt SET ended_at = tasks_now(), outcome = how, detail = why WHERE task_id = ANY(tasks) AND ended_at IS NULL;
END $$
"""
_FINISH = """
CREATE OR REPLACE FUNCTION pg_temp.seed_finish(tasks uuid[], ending text, status text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tasks_task t SET active_attempt = NULL, finished_at = tasks_now(), outcome = ending, status = seed_finish.status,
        result = CASE WHEN ending IN ('result', 'tool_error') THEN json_build_object('content', json_build_array(json_build_object(
            'type', 'text', 'text', 'Done.' || repeat(' One more item is in its place.', t.slot % 20))),
            'structuredContent', json_build_object('items', t.slot), 'isError', ending = 'tool_error')::text END,
        error = CASE WHEN ending = 'rpc_error' THEN '{"code":-32603,"message":"The remote service refused."}' END
     WHERE t.id = ANY(tasks);
    INSERT INTO tasks_fetch (task_id, first_at, last_at)
    SELECT u.id, tasks_now(), tasks_now() FROM unnest(tasks) WITH ORDINALITY AS u(id, n) WHERE ending = 'result' AND u.n % 3 > 0;
END $$
"""
_ASK = """
CREATE OR REPLACE FUNCTION pg_temp.seed_ask(tasks uuid[], who text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tasks_question (task_id, key, name, audience, request, expires_at)
    SELECT u.id, 'confirm-' || left(md5(u.id::text), 8), 'confirm', who, json_build_object('mode', 'form',
        'message', 'Go on with batch ' || left(u.id::text, 8) || '?', 'requestedSchema', json_build_object('type', 'object',
        'properties', json_build_object('go', json_build_object('type', 'boolean', 'title', 'Go on')),
        'required', json_build_array('go')))::text, tasks_now() + interval '7 days' FROM unnest(tasks) AS u(id);
END $$
"""
_ANSWER = """
CREATE OR REPLACE FUNCTION pg_temp.seed_answer(tasks uuid[], actor jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tasks_question SET state = 'answered', answer = '{"action":"accept","content":{"go":true}}', action = 'accept',
           answered_by = actor, answered_via = 'console', closed_at = tasks_now() WHERE task_id = ANY(tasks) AND state = 'open';
    UPDATE tasks_task SET open_questions = 0, status = 'working', wake_at = tasks_now() WHERE id = ANY(tasks);
END $$
"""
# Those that do not simply run: what stops halfway and stays so, and what comes back for a second attempt.
_TURNS = """
CREATE OR REPLACE FUNCTION pg_temp.seed_turns(present timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    asking uuid[] := pg_temp.seed_ids('waiting', 'answered');
    failing uuid[] := pg_temp.seed_ids('retried', 'later');
    running uuid[] := pg_temp.seed_ids('running');
    later uuid[] := pg_temp.seed_ids('later');
BEGIN
    UPDATE tasks_task SET progress_done = slot % 50, progress_total = 50, status_message = 'batch ' || slot % 50 || ' of 50'
     WHERE id = ANY(running);
    UPDATE tasks_task SET active_attempt = NULL, status = 'input_required', open_questions = 1,
           expires_at = greatest(expires_at, tasks_now() + interval '169 hours') WHERE id = ANY(asking);
    PERFORM pg_temp.seed_ask(asking, 'owner'), pg_temp.seed_end(asking, 'suspended', NULL);
    UPDATE tasks_task t SET active_attempt = NULL, retries = retries + 1,
           wake_at = CASE WHEN t.id = ANY(later) THEN present + interval '1 hour' ELSE tasks_now() END
     WHERE t.id = ANY(failing);
    PERFORM pg_temp.seed_end(failing, 'failed', 'ConnectionError: the remote end hung up');
END $$
"""
_OVER = """
CREATE OR REPLACE FUNCTION pg_temp.seed_over(moment timestamptz, stretch float8, worker jsonb, person jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seconds int[] := '{61,64,95,280}';
    tasks uuid[];
BEGIN
    FOR quarter IN 0..3 LOOP
        PERFORM pg_temp.seed_at(moment + stretch * seconds[quarter + 1] * interval '1 second', worker);
        tasks := ARRAY(SELECT p.id FROM seed_plot p WHERE p.pace = quarter AND p.story IN ('result', 'answered', 'retried'));
        PERFORM pg_temp.seed_finish(tasks, 'result', 'completed'), pg_temp.seed_end(tasks, 'completed', NULL);
    END LOOP;
    tasks := pg_temp.seed_ids('tool_error');
    PERFORM pg_temp.seed_finish(tasks, 'tool_error', 'completed'), pg_temp.seed_end(tasks, 'failed', 'ValueError: no such item');
    tasks := pg_temp.seed_ids('rpc_error');
    PERFORM pg_temp.seed_finish(tasks, 'rpc_error', 'failed'), pg_temp.seed_end(tasks, 'failed', 'RpcError: refused');
    PERFORM pg_temp.seed_at(moment + stretch * interval '300 seconds', person);
    tasks := pg_temp.seed_ids('cancelled');
    UPDATE tasks_attempt SET stop_requested_at = tasks_now() WHERE task_id = ANY(tasks) AND ended_at IS NULL;
    PERFORM pg_temp.seed_finish(tasks, 'cancelled', 'cancelled'), pg_temp.seed_end(tasks, 'stopped', NULL);
END $$
"""
# Ages grow with the cube: many tasks are minutes old, some two days. A burst has at most ten minutes for its whole life.
_BURST = """
CREATE OR REPLACE FUNCTION pg_temp.seed_burst(run text, first int, last int, total int, owners bigint[], present timestamptz, quota int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := present - interval '48 hours' * power((total - last)::float8 / total, 3) - interval '10 seconds';
    stretch float8 := least(1, extract(epoch FROM present - moment) / 600);
    name text := 'seed-worker-' || 1 + first % 8;
    worker jsonb := jsonb_build_object('kind', 'worker', 'id', name, 'via', 'worker');
    person jsonb := jsonb_build_object('kind', 'operator', 'id', owners[1], 'role', 'operator', 'via', 'console', 'reason', 'as the owner asked');
    clock text := coalesce(current_setting('tasks.fake_now', true), '');
    again uuid[];
BEGIN
    DELETE FROM seed_plot;
    PERFORM setseed(('x' || left(md5(run || ' ' || first), 7))::bit(28)::int / power(2, 28));
    PERFORM pg_temp.seed_cast(run, first, last, owners, moment, present - moment > interval '20 hours', total - 10000, quota);
    PERFORM pg_temp.seed_at(moment, worker), pg_temp.seed_born(), pg_temp.seed_ask(pg_temp.seed_ids('approval'), 'operator');
    PERFORM pg_temp.seed_start(ARRAY(SELECT p.id FROM seed_plot p WHERE p.story NOT IN ('due', 'approval')), name, present + interval '1 hour');
    PERFORM pg_temp.seed_at(moment + stretch * interval '20 seconds', worker), pg_temp.seed_turns(present);
    PERFORM pg_temp.seed_at(moment + stretch * interval '60 seconds', person), pg_temp.seed_answer(pg_temp.seed_ids('answered'), person);
    again := pg_temp.seed_ids('answered', 'retried');
    PERFORM pg_temp.seed_at(tasks_now(), worker), pg_temp.seed_start(again, name, present + interval '1 hour');
    PERFORM pg_temp.seed_over(moment, stretch, worker, person);
    PERFORM set_config('tasks.fake_now', clock, true), set_config('tasks.actor', '', true);
END $$
"""
_DEFINITIONS = (_PLOT, _CAST, _IDS, _AT, _BORN, _START, _END, _FINISH, _ASK, _ANSWER, _TURNS, _OVER, _BURST)
_LOAD = """
SELECT pg_temp.seed_burst(%(run)s::text, %(first)s::int, %(last)s::int, %(total)s::int, %(owners)s::bigint[], %(present)s, %(quota)s::int)
"""
_PATIENT = "SELECT set_config('statement_timeout', '5min', true)"
_IS_LOADED = "SELECT 1 FROM tasks_task WHERE id = md5('taskdeck ' || %(run)s::text || ' 1')::uuid"
_ANALYZE = "ANALYZE tasks_task, tasks_event, tasks_attempt, tasks_question, tasks_fetch, tasks_expiration, tasks_tally"


class AlreadySeeded(Exception):
    """The tasks of this number are in the database already."""


@dataclass(frozen=True, slots=True)
class Plot:
    """How many tasks of how many owners to make up, and the number that makes the same again."""

    tasks: int
    owners: int
    seed: int


def load(plot: Plot) -> Iterator[int]:
    """Load the tasks burst by burst, each one transaction, and give how many there are after each.

    At the end what is past its time is expired, the tally is folded and the tables are analysed. Raises AlreadySeeded.
    """
    run = str(plot.seed)
    if row(_IS_LOADED, {"run": run}):
        raise AlreadySeeded
    present = row("SELECT tasks_now()") or ()
    owners = [find_or_make_owner(OwnerKind.USER, subject=OWNER.format(n)) for n in range(1, plot.owners + 1)]
    for definition in _DEFINITIONS:
        affected(definition)
    params = {"run": run, "total": plot.tasks, "owners": owners, "present": present[0], "quota": conf().live_tasks}
    for first in range(1, plot.tasks + 1, BURST):
        last = min(first + BURST - 1, plot.tasks)
        with atomic():
            row(_PATIENT)
            row(_LOAD, {**params, "first": first, "last": last})
        yield last
    _settle()


def _settle() -> None:
    while expire():
        pass
    while fold():
        pass
    with atomic():
        row(_PATIENT)
        affected(_ANALYZE)
