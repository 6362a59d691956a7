// expect: completed null
return tools[Symbol.iterator] ?? tools[Symbol.toPrimitive] ?? null;
