// expect: completed "[Threw: no]"
return { toJSON() { throw new Error("no"); } };
