// expect: failed guest_error
ALL_TOOLS[0].id = "openclaw:core:other";
