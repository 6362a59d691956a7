// expect: completed {"x": 1}
class P { x = 1; #y = 2; get z() { return 3; } } return Object.freeze(new P());
