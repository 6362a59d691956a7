// expect: failed invalid_input
// with: straight
import os
print(os.environ)
