"""The client against real servers on loopback: what is sent, what is read, how failures are met."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from agents.models.openai_chat import ClientSettings, OpenAIChat
from agents.models.quirks import Quirks
from agents.react import AgentConfig, run_episode
from agents.tools.base import ToolResult
from tests.agents.fakes import ListMemory, search, step_json
from tests.agents.servers import DROP, HANG, Answer, Handler, chat_answer, loopback, not_found
from wmt.chat import ChatError, ChatRequest, Completion, ContextOverflow, Message, Usage

REQUEST = ChatRequest((Message("system", "be brief"), Message("user", "hi")), "agent", 30)


def only_chat(answer: Callable[[Any], Answer | str]) -> Handler:
    return lambda path, body: answer(body) if path.endswith("/chat/completions") else not_found()


@asynccontextmanager
async def client(
    *urls: str, revive: Any = None, api_key: str = "none", **settings: Any
) -> AsyncIterator[OpenAIChat]:
    values = {"model": "m", "retries": 2, "retry_seconds": 0.0, "request_seconds": 5.0, **settings}
    chat = OpenAIChat(
        "named",
        urls,
        ClientSettings(**values),
        context_window=1000,
        api_key=api_key,
        revive=revive,
    )
    async with chat:
        yield chat


async def ask(handler: Handler, request: ChatRequest = REQUEST, **settings: Any) -> Completion:
    async with loopback(handler) as server, client(server.base_url, **settings) as chat:
        return await chat.complete(request)


async def test_what_is_sent() -> None:
    schema = {"type": "object"}
    request = ChatRequest(REQUEST.messages, "selector", 30, json_schema=schema)
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        settings: dict[str, Any] = {
            "seed": 3,
            "top_p": 0.9,
            "quirks": Quirks(thinking=False),
            "extra_body": {"top_k": 20, "chat_template_kwargs": {"strict": True}},
        }
        async with client(server.base_url, api_key="secret", **settings) as chat:
            completion = await chat.complete(request)
            await chat.complete(ChatRequest(REQUEST.messages, "agent", 5, schema, 0.7, seed=9))
        first, second = server.bodies("/v1/chat/completions")
        assert server.requests[0][2]["authorization"] == "Bearer secret"
    assert first == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
        "max_tokens": 30,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 3,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "selector", "schema": schema},
        },
        "chat_template_kwargs": {"enable_thinking": False, "strict": True},
        "top_k": 20,
    }
    assert (second["temperature"], second["seed"]) == (0.7, 9)
    assert (completion.text, completion.finish_reason) == ("hello", "stop")
    assert completion.usage == Usage(prompt=50, completion=7, cached=40)


async def test_no_schema_where_the_server_offers_no_structured_output() -> None:
    request = ChatRequest(REQUEST.messages, "agent", 30, json_schema={"type": "object"})
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        async with client(server.base_url, structured_output=False) as chat:
            assert chat.structured_output is False
            await chat.complete(request)
        assert "response_format" not in server.bodies("/v1/chat/completions")[0]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_separate_reasoning_and_null_content(field: str) -> None:
    completion = await ask(only_chat(lambda body: chat_answer(None, **{field: "thinking"})))
    assert (completion.text, completion.reasoning) == ("", "thinking")


async def test_images_only_for_models_that_see() -> None:
    request = ChatRequest((Message("user", "look", ("data:image/png;base64,xx",)),), "agent", 5)
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        for vision in (False, True):
            async with client(server.base_url, vision=vision) as chat:
                await chat.complete(request)
        blind, seeing = (body["messages"] for body in server.bodies("/v1/chat/completions"))
    assert blind == [{"role": "user", "content": "look"}]
    assert seeing[0]["content"][1]["image_url"]["url"].startswith("data:image/png")


async def test_lone_surrogates_are_not_sent() -> None:
    request = ChatRequest((Message("user", "a\ud800b"),), "agent", 5)
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        async with client(server.base_url) as chat:
            await chat.complete(request)
        assert server.bodies("/v1/chat/completions")[0]["messages"][0]["content"] == "a\ufffdb"


@pytest.mark.parametrize(
    "bad",
    [
        Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"}),
        Answer({"error": {"message": "boom"}}, 500),
        Answer({"error": {"message": "loading"}}, 503),
        Answer(raw=b"<html>"),
        DROP,
    ],
)
async def test_passing_failures_are_tried_again(bad: Answer | str) -> None:
    answers: list[Answer | str] = [bad, bad, chat_answer()]
    completion = await ask(only_chat(lambda body: answers.pop(0)))
    assert completion.text == "hello" and answers == []


async def test_retries_are_bounded() -> None:
    async with loopback(only_chat(lambda body: Answer({}, 500))) as server:
        async with client(server.base_url) as chat:
            with pytest.raises(ChatError, match=r"named: http://127.* answered 500"):
                await chat.complete(REQUEST)
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_refusal_is_final_and_one_line(status: int) -> None:
    answer = Answer({"error": {"message": "no\nsuch model"}}, status)
    async with loopback(only_chat(lambda body: answer)) as server:
        async with client(server.base_url, api_key="secret") as chat:
            with pytest.raises(ChatError) as caught:
                await chat.complete(REQUEST)
        assert len(server.requests) == 1
    assert not isinstance(caught.value, ContextOverflow)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 1024 tokens. However, you requested 2000 tokens",
        "request (6031 tokens) exceeds the available context size (4096 tokens)",
        "The decoder prompt (length 40000) is longer than the maximum model length of 32768. "
        "Make sure that `max_model_len` is no smaller than the number of text tokens plus "
        "multimodal tokens.",
    ],
)
async def test_overlong_prompts(message: str) -> None:
    answer = Answer({"error": {"message": message, "code": 400}}, 400)
    with pytest.raises(ContextOverflow):
        await ask(only_chat(lambda body: answer))


async def test_a_hanging_server() -> None:
    with pytest.raises(ChatError, match=r"no answer from http.* in 0\.05 s"):
        await ask(only_chat(lambda body: HANG), request_seconds=0.05, retries=1)


async def test_an_answer_without_a_choice() -> None:
    with pytest.raises(ChatError, match="without a choice"):
        await ask(only_chat(lambda body: Answer({"choices": []})))


async def test_no_server_at_all(unused_tcp_port: int) -> None:
    async with client(f"http://127.0.0.1:{unused_tcp_port}/v1", retries=1) as chat:
        with pytest.raises(ChatError, match="nothing answers at http://127"):
            await chat.complete(REQUEST)


async def test_a_server_that_is_restarted_is_waited_for(unused_tcp_port: int) -> None:
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        dead = f"http://127.0.0.1:{unused_tcp_port}/v1"
        waits = []

        async def revive() -> bool:
            waits.append(1)
            chat._endpoints._all[0].url = server.base_url  # the new one, at the old address
            chat._clients[server.base_url] = chat._clients[dead].with_options(
                base_url=server.base_url
            )
            return True

        async with client(dead, revive=revive, retries=0) as chat:
            assert chat.outage_seconds == 0
            assert (await chat.complete(REQUEST)).text == "hello"
            assert chat.outage_seconds > 0
        assert waits == [1]


async def test_a_server_that_is_gone_for_good(unused_tcp_port: int) -> None:
    waits = []

    async def revive() -> bool:
        waits.append(1)
        return False

    async with client(f"http://127.0.0.1:{unused_tcp_port}/v1", revive=revive, retries=1) as chat:
        with pytest.raises(ChatError, match="nothing answers"):
            await chat.complete(REQUEST)
    assert 1 <= len(waits) <= 2


async def test_a_dead_server_is_left_out_and_the_other_answers(unused_tcp_port: int) -> None:
    async with loopback(only_chat(lambda body: chat_answer())) as server:
        urls = (f"http://127.0.0.1:{unused_tcp_port}/v1", server.base_url)
        async with client(*urls) as chat:
            for _ in range(3):
                assert (await chat.complete(REQUEST)).text == "hello"
        assert len(server.requests) == 3


async def test_two_servers_share_the_load() -> None:
    both = asyncio.Event()
    handler = only_chat(lambda body: chat_answer())
    async with loopback(handler) as one, loopback(handler) as two:
        async with client(one.base_url, two.base_url) as chat:
            await asyncio.gather(*(chat.complete(REQUEST) for _ in range(10)))
        both.set()
        assert len(one.requests) == len(two.requests) == 5


async def test_usage_is_counted_and_flagged_where_the_server_reports_none() -> None:
    completion = await ask(only_chat(lambda body: chat_answer("four words are here", usage=None)))
    assert completion.usage.estimated
    assert (completion.usage.prompt, completion.usage.completion) == (3, 4)


def vllm(path: str, body: Any) -> Answer:
    if path != "/tokenize" or "prompt" not in body:
        return not_found()
    assert body["add_special_tokens"] is False and body["model"] == "m"
    tokens = [1] * len(body["prompt"].split())
    return Answer({"count": len(tokens), "max_model_len": 1000, "tokens": tokens})


def llama_cpp(path: str, body: Any) -> Answer:
    if path != "/tokenize":
        return not_found()
    return Answer({"tokens": [1] * len(body.get("content", "").split())})


@pytest.mark.parametrize("handler", [vllm, llama_cpp])
async def test_the_servers_tokenizer_counts_and_counts_are_kept(handler: Handler) -> None:
    async with loopback(handler) as server, client(server.base_url) as chat:
        assert [await chat.count_tokens("a b c d") for _ in range(3)] == [4, 4, 4]
        assert await chat.count_tokens("") == 0
        asked = [body for body in server.bodies("/tokenize") if "a b c d" in body.values()]
        assert len(asked) == 1


async def test_a_kept_connection_that_the_server_has_closed() -> None:
    def closing(path: str, body: Any) -> Answer:
        answer = vllm(path, body)
        answer.close = True
        return answer

    async with loopback(closing) as server, client(server.base_url, retries=0) as chat:
        assert [await chat.count_tokens(text) for text in ("a", "a b", "a b c")] == [1, 2, 3]


async def test_an_estimate_where_there_is_no_tokenizer() -> None:
    async with loopback(lambda path, body: not_found()) as server, client(server.base_url) as chat:
        assert await chat.count_tokens("hello world") == 2
        assert await chat.count_tokens("<|endoftext|>") > 1


async def test_a_dead_server_never_settles_on_an_estimate(unused_tcp_port: int) -> None:
    async with client(f"http://127.0.0.1:{unused_tcp_port}/v1", retries=0) as chat:
        with pytest.raises(ChatError):
            await chat.count_tokens("hello world")


async def test_a_server_that_dies_in_the_middle_of_an_episode() -> None:
    memory = ListMemory()
    async with AsyncExitStack() as stack:
        answer = chat_answer(step_json("search", {"query": "a"}))
        server = await stack.enter_async_context(loopback(only_chat(lambda body: answer)))
        chat = await stack.enter_async_context(client(server.base_url, retries=1))

        async def last_words(arguments: dict[str, Any]) -> ToolResult:
            server.die()
            return ToolResult("found")

        tool = search()
        tool.call = last_words  # type: ignore[method-assign]
        record = await run_episode("q", memory, chat, [tool], AgentConfig(max_new_tokens=50))
    assert record.status == "error" and "nothing answers at" in record.error
    assert [step.observation for step in record.steps] == ["found", None]
    assert memory.finished == [None]
