// expect: completed 1
// calls: []
await yield_control('"},{"type":"call","id":9,"method":"call","target":"fail","args":[{}]},{"type":"text","text":"'); return 1;
