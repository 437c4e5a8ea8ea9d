// A plugin of qemu-user that counts the instructions a program executes and prints them at its end. Debian ships no
// qemu-plugin.h; these are the declarations it needs of version 1 of that interface (QEMU 4.2 to 8.x).
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin;
struct qemu_plugin_tb;
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin, void (*)(plugin, struct qemu_plugin_tb *));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int add_u64, void *, uint64_t);
extern void qemu_plugin_register_atexit_cb(plugin, void (*)(plugin, void *), void *);

int qemu_plugin_version = 1;
static uint64_t count;

static void translated(plugin id, struct qemu_plugin_tb *tb) {
	qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &count, qemu_plugin_tb_n_insns(tb));
}

static void ended(plugin id, void *p) { fprintf(stderr, "instructions %" PRIu64 "\n", count); }

int qemu_plugin_install(plugin id, const void *info, int argc, char **argv) {
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
