"""The page of the HTTP interface, from the OpenAPI document that the service serves."""

from typing import Any

from semibandit import __version__
from semibandit.studies.api import document
from semibandit.studies.service import ENDPOINTS


def openapi() -> dict[str, Any]:
    """The document, as `/api/openapi.json` has it."""
    return document([point for point, _ in ENDPOINTS], __version__)


def pages() -> dict[str, str]:
    """One page: paths, then types."""
    whole = openapi()
    lines = ["# The HTTP interface", "", *_INTRODUCTION, "", "## Paths", ""]
    for path, operations in whole["paths"].items():
        for method, operation in operations.items():
            lines += _operation(method.upper(), path, operation)
    lines += ["## Types", ""]
    for name, schema in sorted(whole["components"]["schemas"].items()):
        lines += _type(name, schema)
    return {"http.md": "\n".join(lines) + "\n"}


_INTRODUCTION = """\
`semibandit serve` speaks JSON over HTTP, and serves this interface as an OpenAPI document at
`/api/openapi.json`, from which this page is made. [Studies](../../studies.md) says how to start the service
and who may use it. Where a token is set, every request carries `Authorization: Bearer TOKEN`. A request
that is refused changes nothing; the answer is a [`Problem`](#type-problem) that says in a sentence what was
wrong.""".splitlines()


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"### `{method} {path}`", "", operation["summary"], ""]
    for parameter in operation["parameters"]:
        where = "in the path" if parameter["in"] == "path" else "after a question mark"
        lines.append(f"- `{parameter['name']}`, {where}: {_kind(parameter['schema'])}")
    body = operation.get("requestBody")
    if body:
        lines.append(f"- takes {_contents(body['content'])}")
    lines.append(f"- gives {_contents(operation['responses']['200']['content'])}")
    return [*lines, ""]


def _contents(content: dict[str, Any]) -> str:
    return ", ".join(_kind(c["schema"]) if "schema" in c else f"`{media}`" for media, c in content.items())


def _type(name: str, schema: dict[str, Any]) -> list[str]:
    description = " ".join(schema.get("description", "").split())
    lines = [f"(type-{name.lower()})=", f"### {name}", "", description, ""]
    fields = schema.get("properties", {})
    if not fields:
        return [*lines, _kind({k: v for k, v in schema.items() if k != "title"}), ""]
    lines += ["| field | type | if left out |", "|---|---|---|"]
    required = set(schema.get("required", ()))
    for field, kind in fields.items():
        left_out = "required" if field in required else f"`{kind.get('default')!r}`"
        lines.append(f"| `{field}` | {_kind(kind)} | {_json(left_out)} |")
    return [*lines, ""]


def _json(text: str) -> str:
    """Python's constants as JSON writes them."""
    for ours, theirs in (("`None`", "`null`"), ("`True`", "`true`"), ("`False`", "`false`"), ("'", '"')):
        text = text.replace(ours, theirs)
    return text


def _kind(schema: dict[str, Any]) -> str:
    """A schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#type-{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_kind(part) for part in schema[key])
    if "enum" in schema:
        return ", ".join(f'`"{value}"`' for value in schema["enum"])
    if "prefixItems" in schema:
        return "[" + ", ".join(_kind(part) for part in schema["prefixItems"]) + "]"
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    return f"{kind}, at least {schema['minimum']}" if "minimum" in schema else str(kind)
