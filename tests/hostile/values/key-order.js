// expect: completed {"1": "b", "2": "a", "z": 0}
return { z: 0, 2: "a", 1: "b" };
