// expect: failed module_access_denied
return await import /* really */ ("fs");
