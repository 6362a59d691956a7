// expect: failed guest_error
class E extends Error { get message() { return new E().message; } } throw new E();
