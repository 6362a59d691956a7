// expect: completed 4
return await Reflect.apply(Reflect.get(tools, "echo"), null, [{ value: 4 }]);
