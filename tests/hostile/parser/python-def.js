// expect: failed invalid_input
// with: straight
def main():
    return 1
