// expect: completed ["invalid_arguments", "invalid_arguments"]
return await Promise.all([tools.fail({ message: 5 }), tools.fail({ nope: 1 })].map((p) => p.catch((e) => e.code)));
