// expect: failed module_access_denied
return await import(["f", "s"].join(""));
