// expect: completed "1"
return "1".match(/(?<__proto__>1)/).groups.__proto__;
