#!/usr/bin/env python3
"""A chat in a terminal with a client of OpenAI's chat completions.

    python3 chat.py [--url http://127.0.0.1:8080] [--model chattray] [question ...]

It uses the package `openai` if it is installed, and Python's own HTTP client if it is not.
Each question is an argument, or a line of the input. CHATTRAY_TOKEN is the bearer token.
"""
import argparse
import json
import os
import sys
import urllib.error
import urllib.request
import uuid

TOOLS = [{
    "type": "function",
    "function": {"name": "get_selection", "description": "What the user has selected", "parameters": {"type": "object", "properties": {}}},
}]


def run_tool(name, arguments):
    """Runs a tool of this program."""
    if name == "get_selection":
        return "The user has selected the third row."
    return "There is no tool " + name


class Failed(Exception):
    """The service has refused a request, or the answer has failed."""


def chunks_of_package(url, token, body):
    import openai

    client = openai.OpenAI(base_url=url + "/v1", api_key=token, max_retries=0)
    try:
        for chunk in client.chat.completions.create(**body):
            yield chunk.model_dump(exclude_none=True)
    except openai.APIError as e:
        raise Failed(e.message) from e


def chunks_of_http(url, token, body):
    request = urllib.request.Request(
        url + "/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(request) as response:
            for line in response:
                data = line.decode().strip()
                if not data.startswith("data: "):
                    continue
                if data == "data: [DONE]":
                    return
                chunk = json.loads(data[len("data: "):])
                if "error" in chunk:
                    raise Failed(chunk["error"]["message"])
                yield chunk
            raise Failed("the connection was lost")
    except urllib.error.HTTPError as e:
        raise Failed(json.load(e)["error"]["message"]) from e
    except urllib.error.URLError as e:
        raise Failed(f"{url} cannot be reached: {e.reason}") from e


def chunks(url, token, body):
    try:
        import openai  # noqa: F401
    except ImportError:
        return chunks_of_http(url, token, body)
    return chunks_of_package(url, token, body)


def answer(args, token, chat, messages):
    """Asks, prints the answer, and runs tools until it is complete."""
    while True:
        body = {"model": args.model, "stream": True, "messages": messages, "tools": TOOLS, "metadata": {"chat_id": chat}}
        text, calls = "", []
        for chunk in chunks(args.url, token, body):
            for choice in chunk.get("choices", []):
                delta = choice.get("delta", {})
                piece = delta.get("content") or ""
                text += piece
                print(piece, end="", flush=True)
                calls += delta.get("tool_calls") or []
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [{k: c[k] for k in ("id", "type", "function")} for c in calls]
        messages.append(message)
        if text:
            print()
        if not calls:
            return
        for call in calls:
            f = call["function"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run_tool(f["name"], f["arguments"])})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model", default="chattray")
    parser.add_argument("question", nargs="*")
    args = parser.parse_args()
    token, chat, messages = os.environ.get("CHATTRAY_TOKEN", "none"), str(uuid.uuid4()), []
    for question in args.question or sys.stdin:
        question = question.strip()
        if not question:
            continue
        messages.append({"role": "user", "content": question})
        try:
            answer(args, token, chat, messages)
        except Failed as e:
            print(f"\nfailed: {e}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
