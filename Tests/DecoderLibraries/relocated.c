// No decoder: code that is written into when it is loaded (`-z notext`), because the address of `answer` stands in an instruction. It
// takes more than two pages, so that one lies whole within its segment.
__attribute__((used)) static int answer = 42;

int relocated_answer(void) {
    int *place;
    __asm__("movabs $answer, %0\n\tjmp 1f\n\t.skip 8192\n1:" : "=r"(place));
    return *place;
}
