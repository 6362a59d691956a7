// expect: completed 1
tools.fail({}).catch(() => {}); return 1;
