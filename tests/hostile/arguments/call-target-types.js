// expect: completed ["TypeError", "TypeError", "TypeError", "TypeError"]
return await Promise.all([undefined, 5, {}, Symbol.iterator].map((t) => tools.call(t).catch((e) => e.name)));
