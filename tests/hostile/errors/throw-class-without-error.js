// expect: failed guest_error
class Fake { name = "Error"; message = "looks real"; stack = "    at program (program:1:1)"; } throw new Fake();
