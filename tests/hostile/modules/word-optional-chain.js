// expect: completed null
return tools?.require?.("fs") ?? null;
