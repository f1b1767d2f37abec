"""The Weighted Memory Tree: an agent's memory as a tree of tasks and actions with retention scores.

    from wmt.presets import preset

    memory = preset("wmt").build(model)      # `model` fulfils wmt.chat.ChatModel
    memory.start(question)
    context = await memory.context(available_tokens)     # context.text goes into the prompt
    await memory.record(Step(thought, operation, action))
    await memory.finish(answer)

Where the paper's parts are: `retention` equations 2-7 and 15; `tree` and `stats` section 2.3;
`controller` and `summarizer` 2.5; `selectors`, `llm_selector`, `lexical` and `synthesizer` 2.6;
`tree_memory` the order of a step; `flat_memory` and `window_memory` the baselines; `snapshot` state
on disk; `drive` a memory without a model; `draw` Figure 2. `examples/own_agent.py` runs as it is.
"""
