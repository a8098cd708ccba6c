"""How the rules that the database enforces are declared beside the models.

`Rule` is a `django-pgtrigger` trigger without that library's run-time switch: a session variable must not be able to
turn a guard off, and asking for the variable would cost a sub-transaction on every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pgtrigger
from pgtrigger import compiler

REFUSED = "USING ERRCODE = 'integrity_constraint_violation'"


class RuleSql(compiler.UpsertTriggerSql):
    """The SQL that installs one rule; migrations refer to it by name, so a change of it is a new class."""

    def get_template(self) -> str:
        """The function and its trigger, replaced as one."""
        return """
            CREATE OR REPLACE FUNCTION {pgid}()
            RETURNS TRIGGER AS $$
                {declare}
                BEGIN
                    {func}
                END;
            $$ LANGUAGE plpgsql;

            DROP TRIGGER IF EXISTS {pgid} ON {table};
            CREATE {constraint} TRIGGER {pgid}
                {when} {operation} ON {table}
                {timing}
                {referencing}
                FOR EACH {level} {condition}
                EXECUTE PROCEDURE {execute};

            COMMENT ON TRIGGER {pgid} ON {table} IS '{hash}';
        """


class Rule(pgtrigger.Trigger):
    """A rule of a table, enforced against every writer, raw SQL included."""

    def compile(self, model: Any) -> compiler.Trigger:
        """The rule as migrations store it."""
        return compiler.Trigger(
            name=self.name,
            sql=RuleSql(
                pgid=self.get_pgid(model),
                declare=self.render_declare(model),
                func=_one_line_each(self.render_func(model)),
                table=model._meta.db_table,
                when=self.when,
                operation=self.operation,
                level=self.level,
                condition=self.render_condition(model),
                execute=self.render_execute(model),
            ),
        )


def append_only(name: str) -> list[Rule]:
    """Rows of this table are never changed; they leave only when the retire switch of the transaction is on."""
    refuse = f"RAISE EXCEPTION '% is append-only', TG_TABLE_NAME {REFUSED};"
    return [
        Rule(name=f"{name}_never_changes", when=pgtrigger.Before, operation=pgtrigger.Update, func=refuse),
        Rule(
            name=f"{name}_leaves_only_retired",
            when=pgtrigger.Before,
            operation=pgtrigger.Delete,
            condition=pgtrigger.Condition("coalesce(current_setting('tasks.retire', true), '') <> 'on'"),
            func=refuse,
        ),
    ]


def well_formed(name: str, rules: Mapping[str, str]) -> Rule:
    """Every row that is written obeys all of these conditions on `NEW`, or is refused by the name of the first it breaks.

    What a table's constraints do, for those that are written several times in the life of a task: Postgres reads a
    constraint anew for each statement, and compiles this once. A condition that is unknown holds, as there.
    """
    all_of_them = " AND ".join(f"({condition})" for condition in rules.values())
    which = " ".join(f"WHEN ({condition}) IS FALSE THEN '{rule}'" for rule, condition in rules.items())
    return Rule(
        # Triggers fire in the order of their names: this one after those that still change the row.
        name=f"{name}_well_formed",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert | pgtrigger.Update,
        declare=[("broken", "TEXT")],
        func=f"""
            IF ({all_of_them}) IS FALSE THEN
                broken := CASE {which} END;
                RAISE EXCEPTION 'a row of % breaks the rule %', TG_TABLE_NAME, broken
                    USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = broken;
            END IF;
            RETURN NEW;
        """,
    )


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that the column holds one of these words."""
    words = ", ".join(f"'{value}'" for value in values)
    return f"{column} IN ({words})"


def _one_line_each(func: str) -> str:
    return " ".join(line.strip() for line in func.splitlines() if line.strip())
