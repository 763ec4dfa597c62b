#include "daemon/start_code.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Code that was changed when it was loaded is in no file. */
static bool is_relocated(const struct dl_phdr_info *object, const ElfW(Phdr) * dynamic) {
  const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + dynamic->p_vaddr);
  for (; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)))
      return true;
  return false;
}

static void forget(const struct dl_phdr_info *object, const ElfW(Phdr) * segment) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
  const uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
  (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static int visit(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  (void)context;
  for (size_t i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC && is_relocated(object, &object->dlpi_phdr[i]))
      return 0;
  for (size_t i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags == (PF_R | PF_X))
      forget(object, &object->dlpi_phdr[i]);
  return 0;
}

void hf_start_code_forget(void) {
  (void)dl_iterate_phdr(visit, NULL);
}
