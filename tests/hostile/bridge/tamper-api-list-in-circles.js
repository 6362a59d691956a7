// expect: completed {"files":["[Circular]",{"path":"mine"}]}
// why: a list is the program's own value: what is put into it is written as any value is
const list = await API.list();
list.files.push(list, { path: "mine" });
return list;
