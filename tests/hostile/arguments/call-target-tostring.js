// expect: completed "TypeError"
return await tools.call({ toString: () => "echo" }, { value: 1 }).catch((e) => e.name);
