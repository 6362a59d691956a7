// expect: failed guest_error
class A { constructor() { new A(); } } new A();
