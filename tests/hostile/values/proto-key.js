// expect: completed {"__proto__": {"x": 1}, "a": 2}
return JSON.parse('{"__proto__": {"x": 1}, "a": 2}');
