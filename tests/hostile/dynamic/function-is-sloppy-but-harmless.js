// expect: completed "object"
// why: functions made from text outside strict code are sloppy by the language; their this is the guest's global
return new Function("return typeof this")();
