// expect: completed "unknown_tool"
return await tools.call('echo","args":[{"value":1}]},{"type":"text","text":"x').catch((e) => e.code);
