/* Ractor::Port#receive. A Ractor keeps the ports that its waiting threads have made, for the next ones: Ruby forgets a port
 * only when its Ractor ends. */
#include "parked.h"
#include <ruby/ractor.h>

static VALUE port_class, port_closed_error;
static ID id_new, id_send, id_receive;
static rb_ractor_local_key_t free_key; /* an Array of ports that no thread waits at */

static VALUE port_interrupt_again(void *argument)
{
    VALUE missed = (VALUE)argument, thread = RARRAY_AREF(missed, 0), error = RARRAY_AREF(missed, 1);
    if (rb_obj_is_kind_of(error, rb_eException)) rb_funcall(thread, rb_intern("raise"), 1, error);
    else rb_funcall(thread, rb_intern("kill"), 0);
    RB_GC_GUARD(missed);
    return Qnil;
}

/* A throw has a hidden object for $! (assumptions.c). */
static int port_thrown(VALUE error) { return !RB_SPECIAL_CONST_P(error) && RB_BUILTIN_TYPE(error) == T_IMEMO; }

/* Until the new thread runs, nothing but its argument keeps the error alive: Ruby marks that where it is an object. */
static VALUE port_start_interrupting(VALUE error)
{
    if (port_thrown(error)) {
        error = rb_exc_new_cstr(rb_eThreadError, "a trap handler has thrown while another Ractor was being woken, where a throw has no "
                                                 "way out: raise in the handler instead");
    }
    return rb_thread_create(port_interrupt_again, (void *)rb_assoc_new(rb_thread_current(), error));
}

/* Sending is Ruby code and may run into an interrupt meant for this thread. Raised here it would cost the caller the item
 * it has just taken, and swallowed it would be lost: another thread raises it again, in a moment. */
static void port_postpone(VALUE error)
{
    int failed = 0;
    rb_set_errinfo(Qnil);
    rb_protect(port_start_interrupting, error, &failed);
    RB_GC_GUARD(error);
}

static VALUE port_send_token(VALUE port) { return rb_funcall(port, id_send, 1, Qtrue); }

static VALUE port_rouse_protected(VALUE port)
{
    int failed = 0;
    rb_protect(port_send_token, port, &failed);
    VALUE error = failed ? rb_errinfo() : Qnil;
    /* Closed: its Ractor has ended meanwhile. */
    if (failed && (port_thrown(error) || !rb_obj_is_kind_of(error, port_closed_error))) port_postpone(error);
    return Qnil;
}

static VALUE port_nothing(VALUE unused) { return Qnil; }

/* A thread that leaves with an exception passes a wake on: Ruby puts that exception back after an `ensure`, whatever became of
 * $! in it. */
static void port_rouse(guildhall_waiter *unused, uintptr_t handle)
{
    VALUE port = (VALUE)handle;
    rb_ensure(port_nothing, Qnil, port_rouse_protected, port);
    RB_GC_GUARD(port);
}

/* A token of an earlier wait costs one turn. */
static void port_step(guildhall_parked *self) { rb_funcall(self->resource, id_receive, 0); }

/* `stays` is 0, which sets DONE before the send: a send can join a GC barrier, for which a waiter that spins until DONE
 * would keep everybody waiting. */
static const guildhall_sleeper port = {guildhall_parked_sleep, port_rouse, 0};

static VALUE port_free_list(void)
{
    VALUE list;
    if (rb_ractor_local_storage_value_lookup(free_key, &list)) return list;
    rb_ractor_local_storage_value_set(free_key, list = rb_ary_new());
    return list;
}

static void port_give_back(guildhall_parked *self) { rb_ary_push(port_free_list(), self->resource); }

int guildhall_sleep_on_port(guildhall_parked *self)
{
    if (NIL_P(port_class)) return 0;
    self->resource = rb_ary_pop(port_free_list());
    if (NIL_P(self->resource)) self->resource = rb_funcall(port_class, id_new, 0);
    self->finish = port_give_back;
    guildhall_sleep_with(self, &port, port_step, (uintptr_t)self->resource);
    return 1;
}

void guildhall_init_port(void)
{
    rb_gc_register_address(&port_class);
    rb_gc_register_address(&port_closed_error);
    port_class = port_closed_error = Qnil;
    free_key = rb_ractor_local_storage_value_newkey();
    id_new = rb_intern("new");
    id_send = rb_intern("send");
    id_receive = rb_intern("receive");
    if (!rb_const_defined(rb_cRactor, rb_intern("Port"))) return;
    port_class = rb_const_get(rb_cRactor, rb_intern("Port"));
    port_closed_error = rb_const_get(rb_cRactor, rb_intern("ClosedError"));
}
