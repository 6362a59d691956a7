"""Scenarios that this engine does not pass, and why: each is something that it does not have, on purpose."""

_TWO_TOOLS = "the server has two tools, no prompts and no resources: those behind it are for programs"
_NO_SAMPLING = "the server never asks a client for a completion: a program is not a conversation"
_KEY = "wants a key and a form of its own; approvals have their own"
_LOGGING = "logs of a program are part of its result"
_AUTH = "an extension that this engine does not have"

SERVER: dict[str, str] = {
    **dict.fromkeys(
        (
            "completion-complete", "resources-list", "resources-read-text", "resources-read-binary",
            "resources-templates-read", "resources-subscribe", "resources-unsubscribe", "prompts-list",
            "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
            "prompts-get-with-image", "input-required-result-non-tool-request", "caching",
        ),
        _TWO_TOOLS,
    ),
    **dict.fromkeys(
        (
            "tools-call-sampling", "input-required-result-basic-sampling",
            "input-required-result-multiple-input-requests", "input-required-result-capability-check",
        ),
        _NO_SAMPLING,
    ),
    "input-required-result-basic-list-roots": "the server never asks for the client's folders",
    "server-stateless": "two checks want a tool that refuses clients without sampling, which no tool does",
    "input-required-result-basic-elicitation": _KEY,
    "tools-call-elicitation": _KEY,
    "elicitation-sep1034-defaults": _KEY,
    "elicitation-sep1330-enums": _KEY,
    "logging-set-level": _LOGGING,
    "tools-call-with-logging": _LOGGING,
    "tasks-lifecycle": "one check wants a tool that breaks the protocol; whatever a program does is a result",
    "tasks-request-headers": "one check wants a plain text; the text of a result is its JSON",
    "tasks-mrtr-composition": "a run that asks is a task at once, and asks as one",
    "tasks-required-task-error": "nothing needs tasks: a client without them has `wait`",
    "tasks-status-notifications": "the suite skips it",
    "server-sse-polling": "the suite skips it: no tool here closes its stream",
    "json-schema-2020-12": "wants a tool with a schema of its own in the list; the list is exec and wait",
    "http-custom-header-server-validation": "no parameter of exec or wait is a header",
}  # fmt: skip

CLIENT: dict[str, str] = {
    "auth/client-credentials-jwt": _AUTH,
    "auth/client-credentials-basic": _AUTH,
    "auth/enterprise-managed-authorization": _AUTH,
    "auth/dpop": _AUTH,
    "auth/dpop-nonce": _AUTH,
    "auth/wif-jwt-bearer": _AUTH,
}


def reason_of(leg: str, name: str) -> str | None:
    return (SERVER if leg == "server" else CLIENT).get(name)
