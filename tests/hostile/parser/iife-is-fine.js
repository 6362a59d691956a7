// expect: completed 1
return await (async () => { return 1; })();
