// expect: completed "rejected"
return await new Function("return im" + "port('fs')")().then(() => "loaded", () => "rejected");
