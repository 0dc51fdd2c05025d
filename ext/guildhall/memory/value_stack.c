/* Growing beyond the C stack. */
#include <string.h>
#include "value_stack.h"

typedef struct {
    VALUE *values;
    size_t capacity;
} held;

static void value_stack_mark(void *pointer)
{
    const held *h = pointer;
    if (h->values) rb_gc_mark_locations(h->values, h->values + h->capacity);
}

static void value_stack_free(void *pointer)
{
    xfree(((held *)pointer)->values);
    xfree(pointer);
}

static size_t value_stack_memsize(const void *pointer) { return sizeof(held) + ((const held *)pointer)->capacity * sizeof(VALUE); }

/* Not write-barrier protected: values come and go. */
static const rb_data_type_t type = {
    "Guildhall values", {value_stack_mark, value_stack_free, value_stack_memsize}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static held *value_stack_held(VALUE holder) { return RTYPEDDATA_GET_DATA(holder); }

void guildhall_value_stack_reserve(guildhall_value_stack *stack, size_t capacity)
{
    if (capacity <= stack->capacity) return;
    held *made;
    VALUE holder = TypedData_Make_Struct(0, held, &type, made);
    made->values = ZALLOC_N(VALUE, capacity); /* marked as a whole: what is not used yet must not look like objects */
    made->capacity = capacity;
    memcpy(made->values, stack->values, stack->count * sizeof(VALUE));
    guildhall_value_stack_release(stack);
    stack->values = made->values;
    stack->capacity = capacity;
    stack->holder = holder;
}

void guildhall_value_stack_grow(guildhall_value_stack *stack) { guildhall_value_stack_reserve(stack, stack->capacity * 4); }

void guildhall_value_stack_free(VALUE holder)
{
    held *h = value_stack_held(holder);
    xfree(h->values);
    *h = (held){NULL, 0};
}
