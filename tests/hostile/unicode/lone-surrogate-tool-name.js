// expect: completed "unknown_tool"
return await tools.call("\ud800").catch((e) => e.code);
