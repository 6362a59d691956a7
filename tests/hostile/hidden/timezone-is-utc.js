// expect: completed [0, "1970-01-01T00:00:00.000Z"]
return [new Date(2020, 6, 1).getTimezoneOffset(), new Date(1970, 0, 1).toISOString()];
