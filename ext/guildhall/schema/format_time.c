/* date, time and date-time of RFC 3339. */
#include "format.h"

/* `count` digits as a number; -1 when there are fewer. */
static int schema_format_time_digits(const uint8_t *bytes, size_t left, size_t count)
{
    int number = 0;
    if (left < count) return -1;
    for (size_t i = 0; i < count; i++) {
        if (!guildhall_is_digit(bytes[i])) return -1;
        number = number * 10 + (bytes[i] - '0');
    }
    return number;
}

static int schema_format_time_days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

bool guildhall_format_date(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    if (text.length != 10 || b[4] != '-' || b[7] != '-') return false;
    int year = schema_format_time_digits(b, 4, 4), month = schema_format_time_digits(b + 5, 2, 2), day = schema_format_time_digits(b + 8, 2, 2);
    return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= schema_format_time_days_in(year, month);
}

/* Minutes that a zone adds to UTC: "Z", "+01:30"; false when the text is not a zone. */
static bool schema_format_time_zone(const uint8_t *b, size_t left, int *minutes)
{
    *minutes = 0;
    if (left == 1 && (b[0] | 32) == 'z') return true;
    if (left != 6 || (b[0] != '+' && b[0] != '-') || b[3] != ':') return false;
    int hour = schema_format_time_digits(b + 1, 2, 2), minute = schema_format_time_digits(b + 4, 2, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    *minutes = (hour * 60 + minute) * (b[0] == '-' ? -1 : 1);
    return true;
}

/* A leap second comes in the last minute of a day of UTC only. */
static bool schema_format_time_leap_second(int hour, int minute, int zone_minutes)
{
    int utc = (hour * 60 + minute - zone_minutes) % 1440;
    return (utc + 1440) % 1440 == 23 * 60 + 59;
}

bool guildhall_format_time(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    if (text.length < 9 || b[2] != ':' || b[5] != ':') return false;
    int hour = schema_format_time_digits(b, 2, 2), minute = schema_format_time_digits(b + 3, 2, 2), second = schema_format_time_digits(b + 6, 2, 2), minutes;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
    size_t i = 8;
    if (b[i] == '.') {
        size_t point = i++;
        while (i < text.length && guildhall_is_digit(b[i])) i++;
        if (i == point + 1) return false;
    }
    if (!schema_format_time_zone(b + i, text.length - i, &minutes)) return false;
    return second < 60 || schema_format_time_leap_second(hour, minute, minutes);
}

bool guildhall_format_date_time(guildhall_text text)
{
    if (text.length < 11 || (text.bytes[10] | 32) != 't') return false;
    return guildhall_format_date((guildhall_text){text.bytes, 10}) &&
           guildhall_format_time((guildhall_text){text.bytes + 11, text.length - 11});
}
