#include <stdio.h>

int main(void) {
  return fputs("holdfast: no command\n", stderr) < 0 ? 1 : 2;
}
