// expect: completed "/a/g"
const r = /a/g; RegExp.prototype.toString = () => "forged"; return r;
