// expect: completed []
return (await tools.search("exec wait code mode run program", { limit: 50 })).filter((t) => ["exec", "wait"].includes(t.name));
