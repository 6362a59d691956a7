// expect: failed guest_error
ALL_TOOLS.push({ id: "x" });
