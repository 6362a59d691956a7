// expect: completed true
return /import\("fs"\)|require\(/.test('require("x")');
