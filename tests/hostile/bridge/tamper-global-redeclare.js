// expect: completed "mine"
// why: a program may have a local of that name; the global stays
const tools = { echo: () => "mine" }; return tools.echo();
