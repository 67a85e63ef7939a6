"""Commands that are imported when they run: the list of all of them costs nothing but their names."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


class LazyCommand(TyperCommand):
    """The name and summary of a command; `target` is "module:function"."""

    def __init__(self, name: str, target: str, summary: str) -> None:
        super().__init__(name, help=summary, rich_markup_mode=None)
        self.target = target

    def get_short_help_str(self, limit: int = 0) -> str:
        """The summary, whole: a list that breaks off in the middle of a sentence says less than it costs."""
        return self.help or ""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """The context of the command itself, which then runs in place of this one."""
        module, function = self.target.split(":")
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        one.command(self.name)(getattr(import_module(module), function))
        return typer.main.get_command(one).make_context(*arguments, **more)
