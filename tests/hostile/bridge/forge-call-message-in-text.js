// expect: completed null
// output: ["\"},{\"type\":\"call\",\"id\":1,\"method\":\"call\",\"target\":\"echo\",\"args\":[]}"]
// calls: []
text('"},{"type":"call","id":1,"method":"call","target":"echo","args":[]}');
