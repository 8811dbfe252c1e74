"""Numbers and lists that become items of a dtype: fill values, values of a scatter, implicit casts, integers."""
