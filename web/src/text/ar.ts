// Arabic.
import type { Translated } from ".";
import type { en } from "./en";

export const ar: Translated<typeof en> = {
  "brand.tagline": "من يستخدم الشبكة",
  "nav.label": "الصفحات",
  "nav.menu": "القائمة",
  "nav.skip": "الانتقال إلى المحتوى",
  "nav.language": "اللغة",
  "nav.language.failed": "تعذّر تحميل هذه اللغة. حاول مرة أخرى.",
  "nav.theme": "المظهر",
  "nav.theme.auto": "مثل النظام",
  "nav.theme.light": "فاتح",
  "nav.theme.dark": "داكن",

  "common.received": "المستلَم",
  "common.sent": "المرسَل",
  "common.download": "التنزيل",
  "common.upload": "الرفع",
  "common.total": "المجموع",
  "common.name": "الاسم",
  "common.address": "العنوان",
  "common.mac": "عنوان الجهاز (MAC)",
  "common.port": "المنفذ",
  "common.share": "الحصة",
  "common.others": "غيرها",
  "common.none": "لا شيء",
  "common.loading": "جارٍ التحميل …",
  "common.retry": "حاول مرة أخرى",
  "common.more": "عرض المزيد",
  "common.shown": "{shown} من {total}",
  "common.details": "الأرقام في جدول",
  "common.bytes": "الحجم",
  "common.uplink": "وصلة الإنترنت",

  "error.offline": "الموجّه لا يستجيب.",
  "error.offline.hint": "هل الاتصال به قائم؟ الصفحة تواصل المحاولة.",
  "error.stale": "الموجّه لا يستجيب؛ ما تراه أقدم من الآن. الصفحة تواصل المحاولة.",
  "error.status": "أجاب الموجّه بالخطأ {status}.",
  "error.view": "حدث خطأ في هذه الصفحة.",
  "error.view.hint": "افتحها من جديد؛ وإن تكرر الخطأ فأبلغنا به من فضلك.",
  "error.unknown.title": "لا يوجد شيء هنا",
  "error.unknown": "لا توجد صفحة بهذا العنوان. اختر واحدة من القائمة.",

  "login.title": "تسجيل الدخول",
  "login.password": "كلمة المرور",
  "login.submit": "تسجيل الدخول",
  "login.first": "تعيين كلمة مرور",
  "login.first.text":
    "لم يعيّن أحد كلمة مرور بعد. يمكن تعيين الأولى هنا، من الموجّه نفسه، أو هناك بالأمر " +
    "weir passwd.",
  "login.first.elsewhere":
    "لم يعيّن أحد كلمة مرور بعد. من يصل إلى وحدة تحكم الموجّه يعيّن الأولى هنا برمز، أو على الموجّه " +
    "نفسه بالأمر weir passwd.",
  "login.code": "الرمز",
  "login.code.hint": "تُظهره وحدة تحكم الموجّه: weir passwd --claim",
  "login.new": "كلمة المرور الجديدة",
  "login.repeat": "كلمة المرور الجديدة مرة أخرى",
  "login.set": "حفظ كلمة المرور",
  "login.short": "8 أحرف على الأقل.",
  "login.different": "الكلمتان غير متطابقتين.",
  "login.show": "إظهار",
  "login.out": "تسجيل الخروج",

  "chart.label":
    "{name}: الآن التنزيل {down} والرفع {up}؛ الأعلى في آخر {span}: التنزيل {peak_down} والرفع " +
    "{peak_up}",
  "chart.peak": "الأعلى {value}",
  "chart.keys": "سهما اليمين واليسار يقرآن النقاط واحدة واحدة.",
  "chart.point": "{time}: التنزيل {down}، الرفع {up}",
  "chart.waiting": "يطول الخط ما دامت هذه الصفحة مفتوحة.",
};
