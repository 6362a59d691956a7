// expect: completed {"status": "failed", "code": "timeout"}
return { status: "failed", code: "timeout" };
