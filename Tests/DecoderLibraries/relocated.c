// Code that is written into when it is loaded (`-z notext`): the address of `answer` stands in an instruction.
__attribute__((used)) static int answer = 42;

int relocated_answer(void) {
    int *place;
    __asm__("movabs $answer, %0" : "=r"(place));
    return *place;
}
